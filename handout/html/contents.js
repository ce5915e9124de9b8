// The contents show which section is being read. Without this script they are plain links.
(() => {
  const nav = document.querySelector("nav");
  const folded = nav.querySelector("details");
  const links = new Map([...nav.querySelectorAll("a")].map((link) => [link.hash.slice(1), link]));
  const headings = [...document.querySelectorAll("main :is(h2, h3)")].filter(({ id }) => links.has(id));

  // as in style.css: open at the side of wide screens
  const wide = matchMedia("(min-width: 72rem)");
  const unfold = () => { folded.open = wide.matches; };
  wide.addEventListener("change", unfold);
  unfold();

  const started = new Set();
  let current;
  const mark = (entries) => {
    for (const { target, isIntersecting } of entries) started[isIntersecting ? "add" : "delete"](target);
    const heading = headings.filter((heading) => started.has(heading)).pop();
    const link = heading && links.get(heading.id);
    if (link === current) return;
    if (current) current.removeAttribute("aria-current");
    current = link;
    if (!link) return;
    link.setAttribute("aria-current", "location");
    nav.scrollTop = link.offsetTop - nav.clientHeight / 2;
  };
  // a section starts in the upper quarter of the window, and all above the window have started
  const observer = new IntersectionObserver(mark, { rootMargin: "10000000px 0px -75% 0px" });
  headings.forEach((heading) => observer.observe(heading));
})();
