"""./run.sh show_corruption: what span corruption drew, and whether it is as asked, as a page."""
