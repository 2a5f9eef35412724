/**
 * The links of a Markdown text to files of the repository, as `{ target, line }`, and the names in backticks that start
 * with one of `folders`. Ignores code blocks and links to other hosts.
 */
export function findLinks(markdown) {
  return proseLines(markdown).flatMap(({ text, line }) =>
    [...text.replaceAll(/`[^`]*`/g, '``').matchAll(/\]\(([^()\s]+)\)|^\[[^\]]+\]:\s+(\S+)/g)].flatMap((match) => {
      const target = match[1] ?? match[2];
      return /^[a-z][a-z+.-]*:/i.test(target) ? [] : [{ target, line }];
    }),
  );
}

/** Skips names with `<`, `{`, `*`, `...` or a space, which mean more than one path. */
export function findPaths(markdown, folders) {
  return proseLines(markdown).flatMap(({ text, line }) =>
    [...text.matchAll(/`([^`]+)`/g)].flatMap(([, name]) => {
      const isPath = folders.includes(name.split('/')[0]) && name.includes('/') && !/[<>{}*\s]|\.\.\./.test(name);
      return isPath ? [{ path: name.replace(/[:#].*$/, ''), line }] : [];
    }),
  );
}

/** The anchors of a page's headings, as GitHub generates them, and its explicit ones (`<a id="...">`). */
export function findAnchors(markdown) {
  const anchors = new Set();
  for (const { text } of proseLines(markdown)) {
    for (const [, id] of text.matchAll(/<a (?:id|name)="([^"]+)">/g)) anchors.add(id);
    const heading = /^#{1,6}\s+(.*?)\s*#*$/.exec(text)?.[1];
    if (heading === undefined) continue;
    const slug = heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(/\s/g, '-');
    let anchor = slug;
    for (let again = 1; anchors.has(anchor); again += 1) anchor = `${slug}-${again}`;
    anchors.add(anchor);
  }
  return anchors;
}

function proseLines(markdown) {
  let fence;
  return markdown.split('\n').flatMap((text, index) => {
    const mark = /^\s*(`{3,}|~{3,})\s*([\w-]*)/.exec(text);
    if (mark !== null) {
      if (fence === undefined) fence = mark[1];
      else if (mark[2] === '' && mark[1].startsWith(fence)) fence = undefined;
      return [];
    }
    return fence === undefined ? [{ text, line: index + 1 }] : [];
  });
}
