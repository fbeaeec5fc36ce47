// Every test of the console in a browser, in this order: they share one project, and what one leaves the next may find.
import "./sign_in.mjs";
import "./modules.mjs";
import "./settings.mjs";
import "./live.mjs";
import "./approvals.mjs";
import "./threads.mjs";
import "./files.mjs";
import "./keyboard.mjs";
import "./attacks.mjs";
import "./pages.mjs";
import "./pictures.mjs";
