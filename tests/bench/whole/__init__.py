"""The whole way, from a folder of files to their protocols, beside a plain program without guarantees."""
