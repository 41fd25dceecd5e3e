"""The rules' indicators (RN-BIL-004 and RN-BIL-005, 6.1): what is counted, when, and against which target."""
