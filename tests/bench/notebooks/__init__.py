"""Real notebooks through nbckpt: run, run again, killed, edited, rewound, beside plain runs."""
