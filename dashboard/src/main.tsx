import "./styles";
import { createRoot } from "react-dom/client";
import { App } from "./App";
import { reloadAfterUpgrade } from "./reloadAfterUpgrade";
import { loadFirstPage } from "./routes";

reloadAfterUpgrade();
loadFirstPage();
const place = document.getElementById("root");
if (place) createRoot(place).render(<App />);
