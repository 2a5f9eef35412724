export const referenceStyleCss = `body { margin: 0; background: #fafafa; }
.bar { display: flex; flex-wrap: wrap; gap: 0.5rem 2rem; align-items: center; padding: 0.5rem 1.25rem; background: #1b1b1b; color: #fff; font-family: sans-serif; }
.bar h1 { margin: 0; font-size: 1.1rem; }
.bar p, .bar form { margin: 0; }
.bar label { margin-right: 0.5rem; }
.bar select, .bar input, .bar button { font: inherit; padding: 0.25rem 0.5rem; }
.bar a { color: #9cc7ff; }
.bar :focus-visible { outline: 3px solid #7fb4ff; outline-offset: 2px; }
`;
