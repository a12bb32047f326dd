// In the frame of the attention: gives the data to the script of the page that the `attention` command writes.

/** Called by the page around the frame, once. */
window.showAttention = (data) => {
  document.getElementById("data").textContent = JSON.stringify(data);
  document.title = `Attention: ${data.src}`;
  return import("./attention-view.js");
};
