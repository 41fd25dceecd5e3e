"""What can be seen of us from outside: metrics, and who listens to our work for them."""
