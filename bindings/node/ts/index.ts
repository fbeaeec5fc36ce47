/** Bounded Workspaces for LangChain.js agents, on Paddock's Rust core. */
export { createWorkspacesMiddleware } from "./middleware.js";
export { fromConfig } from "./options.js";
export type {
  AccessScope,
  CommonOptions,
  ConfigOptions,
  MountConfig,
  MountOptions,
  MountsFunction,
  MountsRequest,
  ToolNames,
  WorkspacesMiddlewareOptions,
} from "./options.js";
export { baseStore, overlayStore, physicalStore, virtualStore } from "./stores.js";
export type { Store, VirtualStoreOptions } from "./stores.js";
export type { LangGraphItem, LangGraphStore } from "./base-store.js";
export type { StorePort, StoreStat } from "./port.js";
export { AccessDeniedError, PathTraversalError } from "./errors.js";
export { openWorkspaces, Workspaces } from "./workspaces.js";
export type { OpenOptions, ToolDescription } from "./workspaces.js";
export type { Answer, AnswerPiece } from "./calls.js";
