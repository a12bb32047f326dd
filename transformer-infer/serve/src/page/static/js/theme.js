// Chooses light or dark before the page is drawn, so that it never flashes. It is no module, because modules wait.
try {
  const { theme } = JSON.parse(localStorage.getItem("transformer-page") ?? "{}");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // The system's theme is shown.
}
