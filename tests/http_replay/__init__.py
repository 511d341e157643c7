"""Recorded HTTP requests, sent again: to show that a client cannot tell two servers apart."""
