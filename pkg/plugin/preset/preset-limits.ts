/**
 * Limits of a plugin's presets: more than any plugin needs, and little enough to be read at once and listed in a
 * status.
 */
export const presetLimits = {
  files: 200,
  /** Bytes of one file; the host parses its YAML. */
  fileSize: 1 << 20,
  /** Bytes of all files. */
  totalSize: 8 << 20,
  objects: 1000,
} as const;
