/**
 * The links of a Markdown text that lead within the repository, `{ target, line }` each, and the names in backticks that
 * begin with one of `folders`. Code blocks have none; a link to another host is not listed.
 */
export function findLinks(markdown) {
  return proseLines(markdown).flatMap(({ text, line }) =>
    [...text.replaceAll(/`[^`]*`/g, '``').matchAll(/\]\(([^()\s]+)\)|^\[[^\]]+\]:\s+(\S+)/g)].flatMap((match) => {
      const target = match[1] ?? match[2];
      return /^[a-z][a-z+.-]*:/i.test(target) ? [] : [{ target, line }];
    }),
  );
}

/** A name with `<`, `{`, `*`, `...` or a space stands for more than one path, and is left out. */
export function findPaths(markdown, folders) {
  return proseLines(markdown).flatMap(({ text, line }) =>
    [...text.matchAll(/`([^`]+)`/g)].flatMap(([, name]) => {
      const isPath = folders.includes(name.split('/')[0]) && name.includes('/') && !/[<>{}*\s]|\.\.\./.test(name);
      return isPath ? [{ path: name.replace(/[:#].*$/, ''), line }] : [];
    }),
  );
}

/** The anchors of a page's headings, as GitHub makes them, and those that it names itself (`<a id="...">`). */
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
