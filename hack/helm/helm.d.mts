export const toolsFolder: string;
export function hasHelm(): boolean;
export function helm(args: string[]): Promise<string>;
export function kubectl(args: string[]): Promise<string>;
