import type { AnyObject, Stored } from '@svc/client';
import { pauseForPage } from '../interface/pause-for-page.ts';

export interface ExportRun {
  chunks: AsyncIterable<readonly Stored<AnyObject>[]>;
  textOf: (object: Stored<AnyObject>) => string;
  onProgress: (count: number) => void;
}

/**
 * The file of all objects. Each chunk becomes a part that the browser holds, on the disk if it is large, so that the page
 * never has more than one chunk as objects.
 */
export async function exportFile({ chunks, textOf, onProgress }: ExportRun): Promise<{ file: Blob; count: number }> {
  const parts: Blob[] = [];
  const pause = pauseForPage();
  let count = 0;
  for await (const objects of chunks) {
    const lines: string[] = [];
    for (const object of objects) {
      lines.push(textOf(object));
      await pause();
    }
    parts.push(new Blob(lines));
    count += objects.length;
    onProgress(count);
  }
  return { file: new Blob(parts, { type: 'application/octet-stream' }), count };
}

/** Lets the browser save it, as it does with every download. */
export function saveFile(file: Blob, name: string): void {
  const url = URL.createObjectURL(file);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
