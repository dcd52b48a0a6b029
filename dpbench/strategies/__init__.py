"""The strategies, one file each. Whatever module lies in this folder is found; see `registry`."""
