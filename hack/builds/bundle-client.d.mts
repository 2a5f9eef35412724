import type { BuildOptions, OutputFile } from 'esbuild';

export function clientModule(contents: string, options?: { minify?: boolean }): Promise<string>;
export function buildForBrowsers(options: BuildOptions): Promise<OutputFile[]>;
