cuda = hip = None
