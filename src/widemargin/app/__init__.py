"""The widemargin program (extra ``app``)."""
