"""A schedule is data: what one rank sends, receives and adds, round by round. Nothing here needs MPI."""
