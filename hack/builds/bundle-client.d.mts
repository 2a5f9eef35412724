export function clientModule(contents?: string, options?: { minify?: boolean }): Promise<string>;
