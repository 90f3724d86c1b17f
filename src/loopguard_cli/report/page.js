"use strict";
{
  const timeline = document.getElementById("timeline");
  const marked = document.getElementById("marked-only");
  const unfold = document.getElementById("unfold");
  const folds = timeline.querySelectorAll(".fold details");
  document.querySelector(".filter").hidden = false;
  unfold.hidden = folds.length === 0;
  marked.addEventListener("change", () => timeline.classList.toggle("marked-only", marked.checked));
  unfold.addEventListener("click", () => {
    const open = [...folds].some((one) => !one.open);
    for (const one of folds) one.open = open;
    unfold.textContent = open ? "fold again" : "unfold all";
  });
  const reveal = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    const fold = target && target.closest("details");
    if (fold) fold.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  addEventListener("beforeprint", () => document.querySelectorAll(".content details").forEach((one) => (one.open = true)));
  reveal();
}
