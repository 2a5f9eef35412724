/**
 * Bounds of what a plugin may ship: far more than any needs, little enough to be read whole and to be kept in a status.
 */
export const presetLimits = {
  files: 200,
  /** Bytes of one file; YAML is parsed in the host. */
  fileSize: 1 << 20,
  /** Bytes of all files. */
  totalSize: 8 << 20,
  objects: 1000,
} as const;
