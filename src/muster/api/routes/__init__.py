"""Thin routes, one file per noun: who may, what is asked, what is answered."""
