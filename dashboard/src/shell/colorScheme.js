// Sets light or dark before the first paint, so that nothing flashes.
(function () {
  var chosen = "auto";
  try {
    chosen = localStorage.getItem("tickwork-color-scheme") || "auto";
  } catch {
    // without storage, the system decides
  }
  var dark = chosen === "dark" || (chosen === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.setAttribute("data-mantine-color-scheme", dark ? "dark" : "light");
})();
