// Every test of the console in a browser, in this order: they share one project, and what one leaves the next may find.
import "./sign_in.mjs";
import "./pages.mjs";
import "./modules.mjs";
import "./settings.mjs";
import "./live.mjs";
import "./approvals.mjs";
import "./commands.mjs";
import "./threads.mjs";
import "./forks.mjs";
import "./files.mjs";
import "./activity.mjs";
import "./projects.mjs";
import "./keyboard.mjs";
import "./attacks.mjs";
import "./pictures.mjs";
