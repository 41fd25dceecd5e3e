"""The console: claims seen, understood and steered by people in a browser."""
