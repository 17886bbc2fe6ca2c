"""The language of when: any way to write a schedule, its canonical form, its due times. Pure: no I/O."""
