interface Import {
  from: string;
  to: string;
}

export function findFolderCycles(
  edges: readonly Import[],
  exceptions?: readonly string[],
): { cycles: (Import & { folder: string })[][]; unused: string[] };
