// Ours first: it says the order of the layers.
import "./tokens.css";
import "@mantine/core/styles.layer.css";
