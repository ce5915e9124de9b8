"""Forms for the marks of written parts."""
