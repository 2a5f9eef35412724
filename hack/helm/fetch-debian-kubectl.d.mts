export function fetchDebianKubectl(): string | undefined;
