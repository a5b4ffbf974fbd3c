"""What people use today, called as its documentation says."""
