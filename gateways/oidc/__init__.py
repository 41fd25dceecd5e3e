"""An OpenID provider: where it is, what it says of somebody, and whether that is to be believed."""
