/**
 * `@svc/client/page`: pages of plugins, isolated in a frame. `openPage` is for the page, `servePage` for the window that
 * shows it; one MessagePort is all that they have in common.
 */
export { pageProtocol, type FrameObject, type PageLook, type PageRequest } from './messages.ts';
export { openPage, type OpenPage } from './open-page.ts';
export { servePage, type PageFault, type ServedPage, type ServePageOptions } from './serve-page.ts';
