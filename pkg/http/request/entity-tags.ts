import { newBadRequest } from '#pkg/apimachinery/index';

const maxHeaderLength = 8192;
const entityTag = /^(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"$/;

/** The opaque parts of an If-Match or If-None-Match header; `any` for `*`. */
export interface EntityTags {
  any: boolean;
  strong: string[];
  weak: string[];
}

/**
 * Undefined without the header. Source: RFC 9110, 8.8.3 and 13.1. @throws StatusError 400 if it is not a list of entity
 * tags.
 */
export function parseEntityTags(header: string | undefined, name: string): EntityTags | undefined {
  if (header === undefined) return undefined;
  const tags: EntityTags = { any: header.trim() === '*', strong: [], weak: [] };
  if (tags.any) return tags;
  if (header.length > maxHeaderLength) throw newBadRequest(`the header ${name} is too long`);
  // A tag may contain a comma, but none of ours does, and a tag cut in two is refused.
  for (const part of header.split(',').map((text) => text.trim())) {
    if (part === '') continue;
    const match = entityTag.exec(part);
    if (match === null) throw newMalformed(name);
    (match[1] === undefined ? tags.strong : tags.weak).push(match[2]!);
  }
  if (tags.strong.length + tags.weak.length === 0) throw newMalformed(name);
  return tags;
}

/** Whether the client's copy, named by If-None-Match, is current. Compared weakly. Source: RFC 9110, 13.1.2. */
export function isNotModified(header: string | undefined, tag: string): boolean {
  const tags = parseEntityTags(header, 'If-None-Match');
  if (tags === undefined) return false;
  return tags.any || tags.strong.includes(tag) || tags.weak.includes(tag);
}

function newMalformed(name: string): Error {
  return newBadRequest(`the header ${name} must be * or a list of entity tags such as "5"`);
}
