import "./styles";
import { createRoot } from "react-dom/client";
import { App } from "./App";
import { reloadAfterUpgrade } from "./reloadAfterUpgrade";

reloadAfterUpgrade();
const place = document.getElementById("root");
if (place) createRoot(place).render(<App />);
