/** A blog: posts that are published at their time, tags that count them, comments that wait for approval. */
import { definePlugin } from '@svc/sdk';
import { discussion } from './controllers/discussion.ts';
import { publication } from './controllers/publication.ts';
import { tagCounts } from './controllers/tag-counts.ts';
import { endpoints } from './endpoints.ts';
import { Comment, Post, Tag } from './models.ts';

export default definePlugin({
  models: [Post, Tag, Comment],
  controllers: [publication, tagCounts, discussion],
  endpoints,
});
