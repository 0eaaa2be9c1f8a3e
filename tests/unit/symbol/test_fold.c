/* SPDX-License-Identifier: GPL-3.0-or-later */
/* C++ names made short: those of real programs, and those that somebody made up. */

#include "symbol/fold.h"

#include "base/cleanup.h"
#include "symbol/string_pool.h"
#include "unit.h"

/* From programs built with libstdc++ 12, libc++ 14, LLVM 14, node. NULL: nothing is left out. */
static const struct {
	const char *linkage, *brief;
} real[] = {
	{ "_ZNSt3mapIiNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESt4lessIiESaISt4pairIKiS5"
	  "_EEEixEOi",
	  "std::map<int, std::string>::operator[](int&&)" },
	{ "_ZNSt3mapIiNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESt7greaterIiESaISt4pairIK"
	  "iS5_EEEixEOi",
	  "std::map<int, std::string, std::greater<int> >::operator[](int&&)" },
	{ "_ZNSt6vectorIi7MyAllocIiEE9push_backEOi",
	  NULL },
	{ "_ZNSt13unordered_mapINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESt6vectorI5Orde"
	  "rSaIS7_EESt4hashIS5_ESt8equal_toIS5_ESaISt4pairIKS5_S9_EEEixEOS5_",
	  "std::unordered_map<std::string, std::vector<Order> >::operator[](std::string&&)" },
	{ "_ZNSt8multimapIiSt6vectorIS0_IiSaIiEESaIS2_EESt4lessIiESaISt4pairIKiS4_EEE7emplaceIJiS4_"
	  "EEESt17_Rb_tree_iteratorIS9_EDpOT_",
	  "std::multimap<int, std::vector<std::vector<int> > >::emplace<int, std::vector<std::vecto"
	  "r<int> > >(int&&, std::vector<std::vector<int> >&&)" },
	{ "_ZNKSt5dequeINSt7__cxx114listINS0_12basic_stringIcSt11char_traitsIcESaIcEEESaIS6_EEESaIS"
	  "8_EE4sizeEv",
	  "std::deque<std::list<std::string> >::size() const" },
	{ "_ZNSt5queueI5OrderNSt7__cxx114listIS0_SaIS0_EEEEC1IS4_vEEv",
	  "std::queue<Order, std::list<Order> >::queue<std::list<Order>, void>()" },
	{ "_ZNSt5stackIlSt5dequeIlSaIlEEE4pushERKl",
	  "std::stack<long>::push(long const&)" },
	{ "_ZNSt14priority_queueIiSt6vectorIiSaIiEESt4lessIiEED1Ev",
	  "std::priority_queue<int>::~priority_queue()" },
	{ "_ZNSt14priority_queueIiSt6vectorIiSaIiEESt7greaterIiEED1Ev",
	  "std::priority_queue<int, std::vector<int>, std::greater<int> >::~priority_queue()" },
	{ "_ZNSt10unique_ptrIA_iSt14default_deleteIS0_EEC1IS2_vEEDn",
	  "std::unique_ptr<int []>::unique_ptr<std::default_delete<int []>, void>(decltype(nullptr)"
	  ")" },
	{ "_ZN4llvm15SmallVectorImplISt10unique_ptrINS_16IndexedReferenceESt14default_deleteIS2_EEE"
	  "aSEOS6_",
	  "llvm::SmallVectorImpl<std::unique_ptr<llvm::IndexedReference> >::operator=(llvm::SmallVe"
	  "ctorImpl<std::unique_ptr<llvm::IndexedReference> >&&)" },
	{ "_ZN4llvm14DeltaAlgorithm5DeltaERKSt3setIjSt4lessIjESaIjEERKSt6vectorIS5_SaIS5_EE",
	  "llvm::DeltaAlgorithm::Delta(std::set<unsigned int> const&, std::vector<std::set<unsigned"
	  " int> > const&)" },
	{ "_ZN2v88internal31UpdateRetainersMapAfterScavengeEPSt13unordered_mapINS0_10HeapObjectES2_"
	  "NS0_6Object6HasherENS3_12KeyEqualSafeESaISt4pairIKS2_S2_EEE",
	  "v8::internal::UpdateRetainersMapAfterScavenge(std::unordered_map<v8::internal::HeapObjec"
	  "t, v8::internal::HeapObject, v8::internal::Object::Hasher, v8::internal::Object::KeyEqua"
	  "lSafe>*)" },
	{ "_ZN4node11trim_spacesESt17basic_string_viewIcSt11char_traitsIcEE",
	  "node::trim_spaces(std::string_view)" },
	{ "_ZNKRSt7__cxx1119basic_istringstreamIwSt11char_traitsIwESaIwEE3strEv",
	  "std::wistringstream::str() const &" },
	{ "_ZNKSt10filesystem7__cxx114path9extensionEv",
	  "std::filesystem::path::extension() const" },
	{ "_ZNSt6chrono3_V212steady_clock3nowEv",
	  "std::chrono::steady_clock::now()" },
	{ "_ZNKSt3_V214error_category10_M_messageB5cxx11Ei",
	  "std::error_category::_M_message(int) const" },
	{ "_ZNSt8ios_base7failureB5cxx11D0Ev",
	  "std::ios_base::failure::~failure()" },
	{ "_Z6taggedB2v1NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
	  "tagged(std::string)" },
	{ "_ZN1QptB5cxx11Ev",
	  "Q::operator->()" },
	{ "_ZNSt8functionIFNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEERKSt3mapIi5OrderSt4l"
	  "essIiESaISt4pairIKiS7_EEEEED1Ev",
	  "std::function<std::string (std::map<int, Order> const&)>::~function()" },
	{ "_ZN12_GLOBAL__N_12mkINS_4AnonEEEPT_S2_",
	  "mk<Anon>(Anon)" },
	{ "_ZNSt8_Rb_treeIN12_GLOBAL__N_14AnonES1_St9_IdentityIS1_ESt4lessIS1_ESaIS1_EE16_M_insert_"
	  "uniqueIS1_EESt4pairISt17_Rb_tree_iteratorIS1_EbEOT_",
	  "std::_Rb_tree<Anon, Anon, std::_Identity<Anon>, std::less<Anon>, std::allocator<Anon> >:"
	  ":_M_insert_unique<Anon>(Anon&&)" },
	{ "_ZN1AILi3EE1mINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEEEiSt5arrayIT_Lm3EE",
	  "A<3>::m<std::string>(std::array<std::string, 3ul>)" },
	{ "_ZltIiEbRKSt6vectorIT_SaIS1_EE5Order",
	  "operator< <int>(std::vector<int> const&, Order)" },
	{ "_ZlsIiEbRKSt6vectorIT_SaIS1_EE5Order",
	  "operator<< <int>(std::vector<int> const&, Order)" },
	{ "_Z3useIXadL_ZltIiEbRKSt6vectorIT_SaIS2_EE5OrderEEEiv",
	  "use<&(bool operator< <int>(std::vector<int> const&, Order))>()" },
	{ "_ZNSt8__detaillsIcSt11char_traitsIcERKNSt7__cxx1112basic_stringIcS2_SaIcEEEEERSt13basic_"
	  "ostreamIT_T0_ESD_RKNS_14_Quoted_stringIT1_SA_EE",
	  "std::__detail::operator<< <char, std::char_traits<char>, std::string const&>(std::ostrea"
	  "m&, std::__detail::_Quoted_string<std::string const&, char> const&)" },
	{ "_ZZ4mainENKUlT_St6vectorIiSaIiEEE_clINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE"
	  "EEEDaS_S2_",
	  "main::{lambda(auto:1, std::vector<int>)#1}::operator()<std::string>(std::string, std::ve"
	  "ctor<int>) const" },
	{ "_ZZN3ada17url_search_params10initializeESt17basic_string_viewIcSt11char_traitsIcEEENKUlS"
	  "4_E_clES4_",
	  "ada::url_search_params::initialize(std::string_view)::{lambda(std::string_view)#1}::oper"
	  "ator()(std::string_view) const" },
	{ "_ZTVSt7num_getIcSt19istreambuf_iteratorIcSt11char_traitsIcEEE",
	  "vtable for std::num_get<char, std::istreambuf_iterator<char> >" },
	{ "_ZTIPFN4llvm8OptionalISt3setIPKNS_11GlobalValueESt4lessIS4_ESaIS4_EEEES8_E",
	  "typeinfo for (*)(std::set<llvm::GlobalValue const*>)" },
	{ "_ZNKSt14default_deleteIA_iEclIiEENSt9enable_ifIXsrSt14is_convertibleIPA_T_PS0_E5valueEvE"
	  "4typeEPS5_",
	  NULL },
	{ "_ZNKSt3__14__fs10filesystem18directory_iterator13__dereferenceEv",
	  "std::filesystem::directory_iterator::__dereference() const" },
	{ "_ZNSs6appendEPKcm",
	  NULL },
	{ "_ZNSsC1EPKcRKSaIcE",
	  "std::string::basic_string(char const*, std::allocator<char> const&)" },
	{ "_Znwm",
	  NULL },
	{ "_ZNSt3__112basic_stringIcNS_11char_traitsIcEENS_9allocatorIcEEE6appendEmc",
	  "std::string::append(unsigned long, char)" },
	{ "_ZNKSt3__112basic_stringIwNS_11char_traitsIwEENS_9allocatorIwEEE7compareEPKw",
	  "std::wstring::compare(wchar_t const*) const" },
	{ "_ZNSt3__113basic_ostreamIcNS_11char_traitsIcEEElsEb",
	  "std::ostream::operator<<(bool)" },
	{ "_ZTINSt3__17num_getIcNS_19istreambuf_iteratorIcNS_11char_traitsIcEEEEEE",
	  "typeinfo for std::num_get<char, std::istreambuf_iterator<char> >" },
	{ "_ZNSt3__19to_stringEd",
	  "std::to_string(double)" },
	{ "_ZNSt4spanIiLm18446744073709551615EEC1Ev",
	  "std::span<int>::span()" },
	{ "_ZNSt6chrono10time_pointINS_3_V212steady_clockENS_8durationIlSt5ratioILl1ELl1000000000EE"
	  "EEEC1Ev",
	  "std::chrono::time_point<std::chrono::steady_clock, std::chrono::duration<long, std::rati"
	  "o<1l, 1000000000l> > >::time_point()" },
};

static void check(const char *name, const char *brief)
{
	struct folded folded = fold_name(name);
	char *text AUTO_FREE = folded.text;
	bool same = text && brief ? !strcmp(text, brief) : !text && !brief;

	CU_ASSERT(same);
	if (!same)
		printf("%s: %s, not %s\n", name, text, brief);
}

TEST("names of real programs")
{
	for (size_t i = 0; i < ARRAY_SIZE(real); i++) {
		char *name AUTO_FREE = NULL;

		demangle_whole(real[i].linkage, &name);
		CU_ASSERT_PTR_NOT_NULL_FATAL(name);
		check(name, real[i].brief);
	}
}

#define STRING	"std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >"

/* An argument goes only if it is the default for those before it, and all behind it have gone. */
TEST("only defaults are left out")
{
	check("f(std::vector<int, std::allocator<long> >)", NULL);
	check("f(std::vector<int, my::allocator<int> >)", NULL);
	check("f(std::vector<int, std::pmr::polymorphic_allocator<int> >)", NULL);
	check("f(my::vector<int, std::allocator<int> >)", NULL);
	check("f(my::std::vector<int, std::allocator<int> >)", NULL);
	check("f(my<int>::std::vector<int, std::allocator<int> >)", NULL);
	check("f() const::std::vector<int, std::allocator<int> >", NULL);
	check("f(mystd::vector<int, std::allocator<int> >)", NULL);
	check("f(std::vector<int, std::allocator<int>, int>)", NULL);
	check("f(std::vector<int, std::allocator<int> const>)", NULL);
	check("f(std::vector<int, std::allocator<int>*>)", NULL);
	check("f(std::vector)", NULL);
	check("f(std::vector<>)", NULL);
	check("f(std::map<int, int, std::less<int>, my::allocator<int> >)", NULL);
	check("f(std::map<int, int, my::less, std::allocator<std::pair<int const, int> > >)",
	      "f(std::map<int, int, my::less>)");
	check("f(std::map<int, int, std::less<int>, std::allocator<std::pair<int, int> > >)", NULL);
	/* std::less<> takes keys of all types. */
	check("f(std::set<int, std::less<void>, std::allocator<int> >)",
	      "f(std::set<int, std::less<void> >)");
	check("f(std::unordered_set<int, my::hash, std::equal_to<int>, std::allocator<int> >)",
	      "f(std::unordered_set<int, my::hash>)");
	check("f(std::basic_string<char, my::traits, std::allocator<char> >)",
	      "f(std::basic_string<char, my::traits>)");
	check("f(std::basic_string<char, std::char_traits<char>, my::allocator<char> >)", NULL);
	check("f(std::basic_string<int, std::char_traits<int>, std::allocator<int> >)",
	      "f(std::basic_string<int>)");
	/* The type of the same name that is not in the anonymous namespace. */
	check("f(std::set<(anonymous namespace)::A, std::less<A>, "
	      "std::allocator<(anonymous namespace)::A> >)", "f(std::set<A, std::less<A> >)");
	check("f((anonymous namespace)::std::vector<int, std::allocator<int> >)",
	      "f(std::vector<int, std::allocator<int> >)");
	check("f(my::__cxx11::A, my::__1::B, std::__1)", NULL);
	check("f(std::__detail::__1x::A)", NULL);
}

/* The brackets of operators and of expressions are no brackets. */
TEST("brackets")
{
	check("A::operator<(std::vector<int, std::allocator<int> >)", "A::operator<(std::vector<int>)");
	check("A::operator>(std::vector<int, std::allocator<int> >)", "A::operator>(std::vector<int>)");
	check("A::operator->(" STRING ")", "A::operator->(std::string)");
	check("A::operator->*<" STRING " >()", "A::operator->*<std::string>()");
	check("A::operator()<" STRING " >(int)", "A::operator()<std::string>(int)");
	check("A::operator,<" STRING " >(int)", "A::operator,<std::string>(int)");
	check("A::operator[](" STRING ")", "A::operator[](std::string)");
	check("A::operator<=><" STRING " >(int)", "A::operator<=><std::string>(int)");
	check("A::operator " STRING "() const", "A::operator std::string() const");
	check("operator\"\" _x(" STRING ")", "operator\"\" _x(std::string)");
	check("operator new[](unsigned long, " STRING ")", "operator new[](unsigned long, std::string)");
	check("f<&A::operator<, " STRING " >()", "f<&A::operator<, std::string>()");
	check("f<&A::operator->, " STRING " >()", "f<&A::operator->, std::string>()");
	check("f<((3)>(2)), " STRING " >()", "f<((3)>(2)), std::string>()");
	check("f<((N)<(2)), " STRING " >()", "f<((N)<(2)), std::string>()");
	check("f(decltype ((x)->y), " STRING ")", "f(decltype ((x)->y), std::string)");
	check("f(" STRING " (&) [3])", "f(std::string (&) [3])");
	check("f(" STRING ") [clone .cold]", "f(std::string) [clone .cold]");
	check("f(std::vector<std::vector<int, std::allocator<int>>, "
	      "std::allocator<std::vector<int, std::allocator<int>>>>)",
	      "f(std::vector<std::vector<int> >)");
}

/* What is not understood stays as it is. */
TEST("what is not understood")
{
	static const char *const names[] = {
		"", "<", ">", "(", ")", "[", "{", "}", "::", "operator", "operator<", "operator<<", "[abi:",
		"f(" STRING, "f)" STRING, "f<" STRING, "f[" STRING ")", "f(" STRING "]",
		"f('" STRING ")", "f(\"" STRING "\")", "f({" STRING ")", STRING " >", STRING " <",
		"A<3<4>(" STRING ")", "f<a < b>(" STRING ")", "f[abi:" STRING, "f[abi:x y](" STRING ")",
		"std::map<int, int, std::less<int>, std::allocator<std::pair<int const, int",
		"LazyCompile:*f /srv/a.js:3:1", "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		check(names[i], NULL);
}

static void repeat(char *to, const char *text, size_t times)
{
	while (times--)
		to = stpcpy(to, text);
}

/* Vectors of vectors, and other brackets, to a depth that no stack has. */
TEST("names that nest and are long")
{
	static char name[1 << 18], brief[1 << 18];
	static const char *const openers[] = { "(", "[", "{", "f<", "std::vector<", "operator< <" };

	strcpy(name, STRING "::f(");
	repeat(name + strlen(name), "std::vector<", 100);
	strcat(name, "int");
	repeat(name + strlen(name), ">", 100);
	strcat(name, ")");
	strcpy(brief, "std::string::f(");
	repeat(brief + strlen(brief), "std::vector<", 100);
	strcat(brief, "int");
	repeat(brief + strlen(brief), "> ", 99);
	strcat(brief, ">)");
	check(name, brief);
	for (size_t i = 0; i < ARRAY_SIZE(openers); i++) {
		repeat(name, openers[i], 20000);
		check(name, NULL);
	}
	memset(name, 'x', 10000);
	strcpy(name + 10000, "(" STRING ")");
	memset(brief, 'x', 10000);
	strcpy(brief + 10000, "(std::string)");
	check(name, brief);
	/* Longer than any name that is kept. */
	repeat(name, "abcdefgh", 20000);
	strcat(name, "(" STRING ")");
	check(name, NULL);
}

TEST("names without parameters")
{
	static const struct {
		const char *name, *bare, *brief_bare;
	} table[] = {
		{ "malloc", "malloc", "malloc" },
		{ "A::f(int)::{lambda(int)#1}::operator()(int) const",
		  "A::f(int)::{lambda(int)#1}::operator()", "A::f(int)::{lambda(int)#1}::operator()" },
		{ "(anonymous namespace)::f(int)", "(anonymous namespace)::f", "f" },
		{ "f<(anonymous namespace)::A>((anonymous namespace)::A)", "f<(anonymous namespace)::A>",
		  "f<A>" },
		{ "A::operator()(" STRING ")", "A::operator()", "A::operator()" },
		{ STRING "::size() const", STRING "::size", "std::string::size" },
		{ "f(int", "f", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct folded folded = fold_name(table[i].name);

		CU_ASSERT_EQUAL(folded.bare, strlen(table[i].bare));
		if (table[i].brief_bare)
			CU_ASSERT_EQUAL(folded.text_bare, strlen(table[i].brief_bare));
		free(folded.text);
	}
	CU_ASSERT_EQUAL(fold_bare("f(int)"), 1);
	CU_ASSERT_EQUAL(fold_bare("(f)"), 3);
}
