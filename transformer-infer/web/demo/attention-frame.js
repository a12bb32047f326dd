// In place of the server's: the page that the `attention` command writes comes whole.
window.showAttention = (page) => {
  document.open();
  document.write(page);
  document.close();
};
