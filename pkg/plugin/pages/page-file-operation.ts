/** The operation by which a host is asked for a file of a page. Operations of plugins begin with a letter or an underscore. */
export const pageFileOperation = '-page-file';
