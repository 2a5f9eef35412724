/**
 * The executable shell blocks of a Markdown text, in order: each ```sh block without `<!-- not run: reason -->` before
 * it; a ```text or ```json block right after it is the expected output. ```console and other languages are not run.
 * Throws for an unclosed fence.
 */
export function shellBlocks(markdown) {
  const blocks = fencedBlocks(markdown);
  return blocks.flatMap((block, index) => {
    if (block.language !== 'sh' || /^<!-- not run: .+ -->$/.test(block.before)) return [];
    const next = blocks[index + 1];
    const isExpected = next !== undefined && ['text', 'json'].includes(next.language) && next.follows;
    return [
      {
        line: block.line,
        script: block.text,
        ...(isExpected ? { expected: { text: next.text, isJson: next.language === 'json' } } : {}),
      },
    ];
  });
}

function fencedBlocks(markdown) {
  const blocks = [];
  let open;
  let before = '';
  let follows = false;
  for (const [index, line] of markdown.split('\n').entries()) {
    const fence = /^( {0,3})(`{3,}|~{3,})\s*([\w-]*)/.exec(line);
    if (open !== undefined) {
      if (fence !== null && fence[3] === '' && fence[2].startsWith(open.fence)) {
        blocks.push(open.block);
        [open, before, follows] = [undefined, '', true];
      } else open.block.text += `${line.slice(0, open.indent).trim() === '' ? line.slice(open.indent) : line}\n`;
    } else if (fence !== null) {
      open = {
        fence: fence[2],
        indent: fence[1].length,
        block: { language: fence[3], line: index + 2, text: '', before, follows },
      };
    } else if (line.trim() !== '') [before, follows] = [line.trim(), false];
  }
  if (open !== undefined) throw new Error(`the block at line ${open.block.line - 1} is never closed`);
  return blocks;
}
