// Pictures go by what the page says of itself, as in Jupyter; the theme's button changes it.
const follow = () => {
  const { theme } = document.body.dataset;
  if (theme === "light" || theme === "dark") document.body.dataset.jpThemeLight = String(theme === "light");
  else delete document.body.dataset.jpThemeLight;
};
new MutationObserver(follow).observe(document.body, { attributeFilter: ["data-theme"] });
follow();
