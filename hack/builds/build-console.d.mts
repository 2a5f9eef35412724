export function buildConsole(folder?: string): Promise<void>;
export function isConsoleBuilt(root?: string): boolean;
