export function checkImports(root: string): Promise<{ files: number; violations: string[] }>;
