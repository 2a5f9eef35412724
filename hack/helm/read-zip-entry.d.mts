export function readZipEntry(zip: Buffer, name: string): Buffer;
