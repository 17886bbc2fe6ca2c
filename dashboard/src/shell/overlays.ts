import { createStore } from "../parts/store";

/** Whether the palette and the help are open. Their code is loaded when they are first opened. */
export const paletteOpened = createStore(false);
export const helpOpened = createStore(false);
