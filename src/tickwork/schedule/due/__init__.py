"""Due times: the calendar, the clocks on the wall of every place, and what follows from them."""
