export function checkImports(
  root: string,
  exceptions?: { suites: readonly string[]; folders: readonly string[] },
): Promise<{ files: number; violations: string[] }>;
