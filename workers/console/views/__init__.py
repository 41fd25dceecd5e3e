"""What pages show: frozen values, and the words of states, reasons and times; pure."""
