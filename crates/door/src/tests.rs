mod answers;
mod requests;
mod signed;
mod support;
mod totality;
